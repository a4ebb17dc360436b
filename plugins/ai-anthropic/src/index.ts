import { AiProviders, definePlugin } from '@nodekeep/plugin-sdk'
import { AnthropicProvider } from './anthropic-provider.ts'
import { configuration } from './configuration.ts'
import { apiEndpoint } from './endpoint.ts'

/** Contributes the AI provider `anthropic`, or one of the instance's name: models behind Anthropic's API. */
export default definePlugin({
  id: 'ai-anthropic',
  description: 'Models of Anthropic.',
  config: configuration,
  contributes: { providers: AiProviders },
  setup({ id, config: { apiKey = '', baseURL }, providers }) {
    const name = id.replace(/^ai-(?=.)/, '')
    const endpoint = apiEndpoint(baseURL, id)
    providers.add(name, new AnthropicProvider({ name, section: id, endpoint, key: apiKey.trim() }))
  },
})
