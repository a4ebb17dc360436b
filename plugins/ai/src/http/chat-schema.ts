import { Type } from '@nodekeep/plugin-sdk'

const roles = ['system', 'user', 'assistant'] as const

const message = Type.Object(
  {
    role: Type.Unsafe<(typeof roles)[number]>({ type: 'string', enum: [...roles] }),
    content: Type.String(),
  },
  { additionalProperties: false },
)

const stopText = Type.String({ minLength: 1, maxLength: 1000 })

/** The body of `POST /api/ai/chat`. */
export const chatBody = Type.Object(
  {
    provider: Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'Name of a provider, such as "openai".',
    }),
    model: Type.String({ minLength: 1, maxLength: 512, description: 'One of its models.' }),
    messages: Type.Array(message, { minItems: 1 }),
    stream: Type.Optional(
      Type.Boolean({ description: 'Whether the reply comes in pieces, as server-sent events.' }),
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

/** What is answered when `stream` is false. */
export const chatAnswer = Type.Object({
  message: Type.Object({ role: Type.Literal('assistant'), content: Type.String() }),
  provider: Type.String(),
  model: Type.String(),
  finishReason: Type.String({ description: '"stop", "length", "tool_calls" or "content_filter".' }),
  usage: Type.Union([Type.Object({ inputTokens: count, outputTokens: count }), Type.Null()], {
    description: 'Tokens as the provider counted them; null when it does not tell.',
  }),
})
