"""Small trained models: tasks, one transformer block with exchangeable attention, training, and a table of results.

Data, models and the table need NumPy alone; training needs the extra `learn`.
"""
