"""The retry guard in a loop over OpenAI's Chat Completions or Responses."""
