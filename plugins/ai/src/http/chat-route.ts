import {
  type AiChatService,
  type ChatMessage,
  type ChatReply,
  clientSignal,
  EventStream,
  GatheredText,
  invalid,
  type RoutesApp,
  type Static,
  Type,
  userOf,
} from '@nodekeep/plugin-sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'

const roles = ['system', 'user', 'assistant'] as const

const closed = { additionalProperties: false }

const part = Type.Union([
  Type.Object({ type: Type.Literal('text'), text: Type.String() }, closed),
  Type.Object(
    {
      type: Type.Literal('image'),
      url: Type.String({ description: 'The image itself, as a `data:` URL.' }),
    },
    closed,
  ),
])

const message = Type.Object(
  {
    role: Type.Unsafe<(typeof roles)[number]>({ type: 'string', enum: [...roles] }),
    content: Type.Union([
      Type.String(),
      Type.Array(part, {
        minItems: 1,
        maxItems: 100,
        description: 'Texts and images, for a message that is not of the model.',
      }),
    ]),
  },
  closed,
)

const stopText = Type.String({ minLength: 1, maxLength: 1000 })

/** The body of `POST /api/ai/chat`. */
const chatBody = Type.Object(
  {
    provider: Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'Name of an AI provider, such as "openai".',
    }),
    model: Type.String({ minLength: 1, maxLength: 512, description: 'One of its models.' }),
    messages: Type.Array(message, { minItems: 1 }),
    stream: Type.Optional(
      Type.Boolean({ description: 'Whether to send the reply in pieces, as server-sent events.' }),
    ),
    maxTokens: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, description: 'Longest reply, in tokens.' }),
    ),
    temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
    stop: Type.Optional(
      Type.Array(stopText, { minItems: 1, maxItems: 16, description: 'Texts that end the reply.' }),
    ),
  },
  { additionalProperties: false },
)

const count = Type.Integer({ minimum: 0 })

/** The answer without `stream`. */
const chatAnswer = Type.Object({
  message: Type.Object({ role: Type.Literal('assistant'), content: Type.String() }),
  provider: Type.String(),
  model: Type.String(),
  finishReason: Type.String({ description: '"stop", "length", "tool_calls" or "content_filter".' }),
  usage: Type.Union([Type.Object({ inputTokens: count, outputTokens: count }), Type.Null()], {
    description: 'Tokens as the provider counted them, or null if it did not.',
  }),
})

/** The answers with and without `stream`. */
const chatAnswers = {
  description: 'The reply',
  content: {
    'application/json': { schema: chatAnswer },
    'text/event-stream': { schema: Type.String() },
  },
}

interface ChatRouteOptions {
  readonly chats: AiChatService
  readonly maxBodyBytes: number
  readonly heartbeatMs: number
}

/** Registers `POST /api/ai/chat` (interface, "AI endpoints"). */
export function chatRoute(app: RoutesApp, { chats, maxBodyBytes, heartbeatMs }: ChatRouteOptions): void {
  app.post(
    '/api/ai/chat',
    {
      bodyLimit: maxBodyBytes,
      config: { scope: 'ai' },
      schema: {
        operationId: 'chat',
        summary: 'Chat with a model',
        description:
          'With "stream": true the answer is text/event-stream: data lines with {"chunk": …}, then [DONE].',
        body: chatBody,
        response: { 200: chatAnswers },
      },
    },
    async (request, reply) => {
      const { stream = false, messages, ...options } = request.body
      const query = { ...options, messages: messages.map(readMessage) }
      const signal = clientSignal(reply)
      const begin = () => chats.start(userOf(request).uuid, query, signal)
      return stream ? streamed(begin, { request, reply, signal, heartbeatMs }) : wholeReply(await begin())
    },
  )
}

/**
 * @param index its index in the request, for the error
 * @throws NodekeepError VALIDATION_ERROR for parts in a message of the model
 */
function readMessage({ role, content }: Static<typeof message>, index: number): ChatMessage {
  if (role !== 'assistant') return { role, content }
  if (typeof content === 'string') return { role, content }
  throw invalid(
    `"messages.${index}.content" in the body must be a string, because the message is of the model.`,
  )
}

interface Streaming {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly signal: AbortSignal
  readonly heartbeatMs: number
}

/** Sends each piece of text as an event with JSON. The last event is `[DONE]`, also after an error. */
async function streamed(begin: () => Promise<ChatReply>, to: Streaming): Promise<FastifyReply> {
  const { request, reply, signal, heartbeatMs } = to
  const stream = new EventStream(reply, heartbeatMs)
  try {
    const { deltas } = await begin()
    for await (const delta of deltas) {
      if (delta.type !== 'text') continue
      if (!stream.send(`{"chunk":${JSON.stringify(delta.text)}}`)) await stream.drained(signal)
    }
  } catch (error) {
    const failure = stream.failed(error, request, signal)
    if (failure === null) return reply
    const { message, code } = failure
    stream.send(JSON.stringify({ chunk: '', error: true, message, code }))
  }
  stream.send('[DONE]')
  stream.end()
  return reply
}

/** Gathers a reply into one answer. */
async function wholeReply({ provider, model, deltas }: ChatReply): Promise<Static<typeof chatAnswer>> {
  const text = new GatheredText()
  let usage: { inputTokens: number; outputTokens: number } | null = null
  let finishReason = 'stop'
  for await (const delta of deltas) {
    if (delta.type === 'text') text.add(delta.text)
    else if (delta.type === 'usage') usage = delta
    else if (delta.type === 'finish') finishReason = delta.reason
  }
  return { message: { role: 'assistant', content: text.toString() }, provider, model, finishReason, usage }
}
