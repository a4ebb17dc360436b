import { type AiChatService, type RoutesApp, Type } from '@nodekeep/plugin-sdk'

const models = Type.Object({
  providers: Type.Record(Type.String(), Type.Array(Type.String()), {
    description: 'The models of each AI provider. The list is empty if the provider does not answer.',
  }),
})

/** Registers `GET /api/ai/models` (interface, "AI endpoints"). */
export function modelsRoute(app: RoutesApp, chats: AiChatService): void {
  const schema = {
    operationId: 'listAiModels',
    summary: 'List the models of each provider',
    response: { 200: models },
  }
  app.get('/api/ai/models', { config: { scope: 'ai' }, schema }, async () => {
    const providers = await chats.models()
    return { providers: providers as Record<string, string[]> }
  })
}
