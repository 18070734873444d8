"""Pages that people open in a browser: one HTML file each, nothing loaded, no script but its own."""
