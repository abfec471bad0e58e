// An assembly file lets functions without a body be linked.
