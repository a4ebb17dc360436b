import { type Static, Type } from '@nodekeep/plugin-sdk'

const seconds = (description: string, value: number) =>
  Type.Number({ default: value, minimum: 0.01, maximum: 86_400, description })

/** The section `ai` of the configuration. */
export const configuration = Type.Object({
  maxBodyBytes: Type.Integer({
    default: 10 * 1024 * 1024,
    minimum: 1024,
    maximum: 1024 ** 3,
    description: 'Largest body of a request, in bytes.',
  }),
  maxReplyBytes: Type.Integer({
    default: 16 * 1024 * 1024,
    minimum: 1024,
    maximum: 1024 ** 3,
    description: 'Longest reply, in bytes of UTF-8.',
  }),
  heartbeatSeconds: seconds('How often a streamed answer shows that it is alive, in seconds.', 15),
  timeouts: Type.Object(
    {
      firstSeconds: seconds('Longest wait for the first piece of a reply, in seconds.', 180),
      betweenSeconds: seconds('Longest pause in a reply, in seconds.', 120),
      totalSeconds: seconds('Longest time for a whole chat, with all its retries, in seconds.', 3600),
    },
    { default: {} },
  ),
  retries: Type.Object(
    {
      max: Type.Integer({
        default: 2,
        minimum: 0,
        maximum: 10,
        description: 'How often a provider that failed is asked again, before the first piece of its reply.',
      }),
      firstDelayMs: Type.Integer({
        default: 500,
        minimum: 1,
        maximum: 60_000,
        description:
          'Longest wait before the first retry, in milliseconds. It doubles with each further one.',
      }),
      longestDelayMs: Type.Integer({
        default: 8000,
        minimum: 1,
        maximum: 60_000,
        description:
          'Longest wait before any retry, in milliseconds. A provider that asks for more is not asked again.',
      }),
    },
    { default: {} },
  ),
  fallbacks: Type.Record(Type.String(), Type.Array(Type.String()), {
    default: {},
    description: 'Which models reply when one fails: "provider/model" to a list of the same form.',
  }),
  limits: Type.Object(
    {
      chats: Type.Integer({
        default: 256,
        minimum: 1,
        maximum: 100_000,
        description: 'Most chats at a time, of all users.',
      }),
      chatsPerUser: Type.Integer({
        default: 16,
        minimum: 1,
        maximum: 100_000,
        description: 'Most chats at a time of one user.',
      }),
      requestsPerMinute: Type.Integer({
        default: 120,
        minimum: 1,
        maximum: 100_000,
        description: 'Most chats that one user begins within a minute.',
      }),
      tokensPerDay: Type.Integer({
        default: 0,
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Most tokens of one user, read and written, in a day of UTC. 0 sets no limit.',
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
        description:
          'How long a list of models waits for a provider that has told nothing yet, in milliseconds.',
      }),
      timeoutMs: Type.Integer({
        default: 10_000,
        minimum: 1,
        maximum: 60_000,
        description: 'How long a provider may take to tell its models in the background, in milliseconds.',
      }),
      keepSeconds: seconds('How long what a provider told counts as new, in seconds.', 60),
    },
    { default: {} },
  ),
  usage: Type.Object(
    {
      keepDays: Type.Integer({
        default: 90,
        minimum: 1,
        maximum: 366,
        description: 'Days for which usage is kept.',
      }),
    },
    { default: {} },
  ),
})

/** The section with its defaults applied. */
export type Configuration = Static<typeof configuration>
