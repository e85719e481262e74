"""Prepares each dataset as veRL parquet files: ``python -m data_prep.gsm8k --local_save_dir DIR``, one module for each
dataset."""
