import { AiProviders, definePlugin } from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'
import { apiEndpoint } from './endpoint.ts'
import { OpenAIProvider } from './openai-provider.ts'

/** Contributes the AI provider `openai`, or one of the instance's name: servers that speak OpenAI's protocol. */
export default definePlugin({
  id: 'ai-openai',
  description: 'Models of OpenAI, and of servers that speak its protocol.',
  config: configuration,
  contributes: { providers: AiProviders },
  setup({ id, config, providers }) {
    const { apiKey = '', ...rest } = config
    const key = apiKey.trim()
    const name = id.replace(/^ai-(?=.)/, '')
    const endpoint = apiEndpoint(config.baseURL, key !== '', id)
    providers.add(name, new OpenAIProvider({ ...rest, name, section: id, endpoint, key }))
  },
})
