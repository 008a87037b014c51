"""The formats a workflow can be kept in, a folder each; `workflow.registry` knows them."""
