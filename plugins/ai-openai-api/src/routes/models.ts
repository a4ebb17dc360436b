import { type AiChatService, NodekeepError, type RoutesApp, Type } from '@nodekeep/plugin-sdk'

/** Registers `GET /models` and `GET /models/:model` ("Models" of OpenAI's API reference). */
export function modelRoutes(app: RoutesApp, chats: AiChatService): void {
  const all = async () => {
    const lists = await chats.models()
    return Object.entries(lists).flatMap(([provider, models]) =>
      models.map((model) => ({
        id: `${provider}/${model}`,
        object: 'model',
        // The time is unknown, but clients expect a number.
        created: 0,
        owned_by: provider,
      })),
    )
  }
  const config = { scope: 'ai' }
  app.get('/models', { config, schema: { summary: "List all models, in OpenAI's protocol" } }, async () => ({
    object: 'list',
    data: await all(),
  }))
  // The name has slashes, which some clients escape.
  const schema = {
    summary: "Describe one model, in OpenAI's protocol",
    params: Type.Object({ '*': Type.String({ maxLength: 1024 }) }),
  }
  app.get('/models/*', { config, schema }, async (request) => {
    const id = request.params['*']
    const found = (await all()).find((model) => model.id === id)
    if (found !== undefined) return found
    throw new NodekeepError('NOT_FOUND', `There is no model "${id}". GET /v1/models lists all models.`)
  })
}
