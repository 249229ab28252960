"""The sections of a job's file: what each of them may say."""
