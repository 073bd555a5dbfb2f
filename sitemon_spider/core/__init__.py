"""What sitemon knows: reading, comparing and remembering, without a framework, a clock or I/O."""
