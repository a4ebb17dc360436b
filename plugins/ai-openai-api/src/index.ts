import { AiChats, definePlugin, limitJsonComplexity } from '@nodekeep/plugin-sdk'
import { serializeError } from './answers/error.ts'
import { configuration } from './configuration.ts'
import { chatCompletionsRoute } from './routes/chat-completions.ts'
import { modelRoutes } from './routes/models.ts'

/** The plugin `ai-openai-api`: an API with OpenAI's protocol for all models of the node. */
export default definePlugin({
  id: 'ai-openai-api',
  description: 'Programs that are made for OpenAI can use the models of your node.',
  config: configuration,
  requires: { chats: AiChats },
  setup({ config, chats, routes }) {
    const { defaultProvider = null, maxBodyBytes, heartbeatSeconds } = config
    const register: Parameters<typeof routes>[0] = (app) => {
      const heartbeatMs = heartbeatSeconds * 1000
      limitJsonComplexity(app)
      chatCompletionsRoute(app, { chats, defaultProvider, maxBodyBytes, heartbeatMs })
      modelRoutes(app, chats)
    }
    routes(register, { prefix: '/v1', serializeError })
  },
})
