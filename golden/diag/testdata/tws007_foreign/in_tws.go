package in

// Written by hand.
var Answer = 42
