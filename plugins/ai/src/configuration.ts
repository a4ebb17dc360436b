import { ByteSize, Type } from '@nodekeep/plugin-sdk'

const seconds = (description: string, value: number) =>
  Type.Number({ default: value, minimum: 0.01, maximum: 86_400, description })

/** The section `ai` of the configuration. */
export const configuration = Type.Object({
  maxBodyBytes: ByteSize({
    default: 10 * 1024 * 1024,
    minimum: 1024,
    maximum: 1024 ** 3,
    description: 'Maximum size of a request body, in bytes.',
  }),
  maxReplyBytes: ByteSize({
    default: 16 * 1024 * 1024,
    minimum: 1024,
    maximum: 1024 ** 3,
    description: 'Maximum size of a reply with its thoughts, in bytes of UTF-8.',
  }),
  heartbeatSeconds: seconds('Interval of heartbeats in a streamed answer, in seconds.', 15),
  timeouts: Type.Object(
    {
      firstSeconds: seconds('Maximum wait for the first piece of a reply, in seconds.', 180),
      betweenSeconds: seconds('Maximum pause in a reply, in seconds.', 120),
      totalSeconds: seconds('Maximum time of a whole chat with its retries, in seconds.', 3600),
    },
    { default: {} },
  ),
  retries: Type.Object(
    {
      max: Type.Integer({
        default: 2,
        minimum: 0,
        maximum: 10,
        description: 'Retries of a provider that failed before the first piece of its reply.',
      }),
      firstDelayMs: Type.Integer({
        default: 500,
        minimum: 1,
        maximum: 60_000,
        description:
          'Maximum wait before the first retry, in milliseconds. It doubles with each further retry.',
      }),
      longestDelayMs: Type.Integer({
        default: 8000,
        minimum: 1,
        maximum: 60_000,
        description:
          'Maximum wait before any retry, in milliseconds. A provider whose retry-after is longer is not retried.',
      }),
    },
    { default: {} },
  ),
  fallbacks: Type.Record(Type.String(), Type.Array(Type.String()), {
    default: {},
    description: 'Models that reply if another fails: "provider/model" to a list of such names.',
  }),
  limits: Type.Object(
    {
      chats: Type.Integer({
        default: 256,
        minimum: 1,
        maximum: 100_000,
        description: 'Concurrent chats of all users.',
      }),
      chatsPerUser: Type.Integer({
        default: 16,
        minimum: 1,
        maximum: 100_000,
        description: 'Concurrent chats of one user.',
      }),
      requestsPerMinute: Type.Integer({
        default: 120,
        minimum: 1,
        maximum: 100_000,
        description: 'Chats that one user may begin within any minute.',
      }),
      tokensPerDay: Type.Integer({
        default: 0,
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Tokens that one user may use in a day (UTC), read and written. 0 means no limit.',
      }),
    },
    { default: {} },
  ),
  models: Type.Object(
    {
      waitMs: Type.Integer({
        default: 1000,
        minimum: 1,
        maximum: 60_000,
        description: 'How long an answer waits for the first list of a provider, in milliseconds.',
      }),
      timeoutMs: Type.Integer({
        default: 10_000,
        minimum: 1,
        maximum: 60_000,
        description: 'How long a provider may take to list its models in the background, in milliseconds.',
      }),
      keepSeconds: seconds('How long a list of models is not renewed, in seconds.', 60),
    },
    { default: {} },
  ),
  usage: Type.Object(
    {
      keepDays: Type.Integer({
        default: 90,
        minimum: 1,
        maximum: 366,
        description: 'Days for which usage is stored.',
      }),
    },
    { default: {} },
  ),
})
