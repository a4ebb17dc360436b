import { AiProviders, definePlugin } from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'
import { serverHost } from './host.ts'
import { OllamaProvider } from './ollama-provider.ts'

/** Contributes the AI provider `ollama`, or one of the instance's name: models of an Ollama server. */
export default definePlugin({
  id: 'ai-ollama',
  description: 'Models of an Ollama server.',
  config: configuration,
  contributes: { providers: AiProviders },
  setup({ id, config, providers }) {
    const name = id.replace(/^ai-(?=.)/, '')
    providers.add(name, new OllamaProvider({ name, section: id, host: serverHost(config.host, id) }))
  },
})
