"""Development tools: what measures, builds and documents Holdfast. The package needs none of them."""
