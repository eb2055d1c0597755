"""``python -m template_lint`` is ``template-lint``."""

from template_lint.cli import main

if __name__ == "__main__":
    main()
