"""Grades responses: the category that each is in, and whether it solves its problem."""
