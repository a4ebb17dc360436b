/** The names of providers of models as people write them. */
const names: Readonly<Record<string, string>> = {
  anthropic: 'Anthropic',
  ollama: 'Ollama',
  openai: 'OpenAI',
}

/** Returns the name of a provider of models for people. */
export function providerName(provider: string): string {
  return names[provider] ?? provider
}
