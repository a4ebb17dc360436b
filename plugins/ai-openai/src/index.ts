import { AiProviders, apiEndpoint, definePlugin } from '@nodekeep/plugin-sdk'
import { configuration, openaiBaseURL } from './configuration.ts'
import { OpenAIProvider } from './openai-provider.ts'

/** Contributes the AI provider `openai`, or one of the instance's name: servers that speak OpenAI's protocol. */
export default definePlugin({
  id: 'ai-openai',
  description: 'The models of OpenAI (GPT) and of servers like it, with your key.',
  config: configuration,
  contributes: { providers: AiProviders },
  setup({ id, config, providers }) {
    const { apiKey = '', ...rest } = config
    const key = apiKey.trim()
    const name = id.replace(/^ai-(?=.)/, '')
    const endpoint = apiEndpoint(config.baseURL, {
      setting: `${id}.baseURL`,
      example: openaiBaseURL,
      ...(key !== '' && { secret: `${id}.apiKey` }),
    })
    providers.add(name, new OpenAIProvider({ ...rest, name, section: id, endpoint, key }))
  },
})
