import { AiProviders, apiEndpoint, definePlugin } from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'
import { OllamaProvider } from './ollama-provider.ts'

/** Contributes the AI provider `ollama`, or one of the instance's name: models of an Ollama server. */
export default definePlugin({
  id: 'ai-ollama',
  description: 'Models that run on your own machine, with Ollama.',
  config: configuration,
  contributes: { providers: AiProviders },
  setup({ id, config, providers }) {
    const name = id.replace(/^ai-(?=.)/, '')
    providers.add(name, new OllamaProvider({ name, section: id, host: serverHost(config.host, id) }))
  },
})

/**
 * Reads the address of a server in the forms of Ollama's own tools: a URL, a name or address with or without a port, or a
 * port alone. An empty text is the usual address on this machine.
 *
 * @param section the section of the configuration, for error messages
 * @throws Error if the text is not the address of a server
 */
function serverHost(host: string, section: string): string {
  const text = host.trim().replace(/^:/, '127.0.0.1:')
  if (text === '') return ''
  const address = text.includes('://') ? text : `http://${text}`
  apiEndpoint(address, { setting: `${section}.host`, example: 'http://127.0.0.1:11434' })
  return text
}
