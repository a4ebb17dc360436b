import { AiProviders, apiEndpoint, definePlugin } from '@nodekeep/plugin-sdk'
import { AnthropicProvider } from './anthropic-provider.ts'
import { anthropicBaseURL, configuration } from './configuration.ts'

/** Contributes the AI provider `anthropic`, or one of the instance's name: models behind Anthropic's API. */
export default definePlugin({
  id: 'ai-anthropic',
  description: 'The models of Anthropic (Claude), with your key.',
  config: configuration,
  contributes: { providers: AiProviders },
  setup({ id, config: { apiKey = '', baseURL }, providers }) {
    const name = id.replace(/^ai-(?=.)/, '')
    const names = { setting: `${id}.baseURL`, example: anthropicBaseURL, secret: `${id}.apiKey` }
    const endpoint = apiEndpoint(baseURL, names)
    providers.add(name, new AnthropicProvider({ name, section: id, endpoint, key: apiKey.trim() }))
  },
})
