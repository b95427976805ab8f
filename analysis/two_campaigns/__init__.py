"""Two campaigns side by side: are they alike, and if so, what came out of each?"""
