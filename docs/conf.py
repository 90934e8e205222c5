"""How the site is built: ``make docs``, warnings as errors, and nothing from the network."""

import shutil
import sys
from pathlib import Path

import latentsimplex

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "latentsimplex"
author = "the latentsimplex developers"
copyright = author
version = release = latentsimplex.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "command_line",
    "mathml",
    "offline",
    "repository_links",
]
exclude_patterns = ["_build", "_ext", "_templates", "gallery/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
nitpicky = False  # annotations name types of other libraries, whose inventories would have to be fetched

# Pages are Markdown that a code host shows as well: plain links, and headings that are anchors.
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

# API pages are made from docstrings.
autosummary_generate = True
shutil.rmtree(HERE / "api" / "generated", ignore_errors=True)  # or a name that is gone would keep its page
autosummary_ignore_module_all = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_type_aliases = {"Array": "ndarray", "Indices": "ndarray"}
toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]  # keeps the underscore at the end of labels_
napoleon_use_rtype = False
napoleon_preprocess_types = False
suppress_warnings = ["ref.python"]  # types are words, and a word may be a name elsewhere

# The gallery runs when the site is built.
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("figures.scrape",),
    "reset_modules": (),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "thumbnail_size": (480, 360),
    "write_computation_times": False,
    "ignore_repr_types": r"matplotlib\.",
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "latentsimplex"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = html_logo = "_static/logo.svg"
html_copy_source = html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_sidebars = {name: [] for name in ("index", "install", "tour")}
html_theme_options = {
    "logo": {"text": "latentsimplex"},
    "navbar_end": ["theme-switcher"],
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "back_to_top_button": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def plain_alias(app, what, name, obj, options, signature, returns):
    """Return signatures in which an array is an ``ndarray``, also where it is one of several types."""
    return tuple(
        text and text.replace("TypeAliasForwardRef('ndarray')", "ndarray") for text in (signature, returns)
    )


def setup(app):
    """Tidy signatures."""
    app.connect("autodoc-process-signature", plain_alias)
