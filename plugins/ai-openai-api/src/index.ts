import { AiChats, definePlugin, limitJsonComplexity } from '@nodekeep/plugin-sdk'
import { serializeError } from './answers/error.ts'
import { configuration } from './configuration.ts'
import { chatCompletionsRoute } from './routes/chat-completions.ts'
import { modelRoutes } from './routes/models.ts'

/** The plugin `ai-openai-api`: the models of the node for clients that speak OpenAI's protocol. */
export default definePlugin({
  id: 'ai-openai-api',
  description:
    "Answers in OpenAI's wire protocol, so that existing clients chat with every model of the node.",
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
