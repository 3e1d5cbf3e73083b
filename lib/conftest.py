import os

os.environ["MPLBACKEND"] = "agg"  # figures are drawn into memory; read when matplotlib is imported
