"""The pieces of the HTML report: its Jinja template and style sheet lie beside this file."""
