import { ByteSize, Type } from '@nodekeep/plugin-sdk'

/** The plugin's section of the configuration. */
export const configuration = Type.Object({
  defaultProvider: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'The provider for model names without a provider that no list has, such as "openai".',
    }),
  ),
  maxBodyBytes: ByteSize({
    default: 10 * 1024 * 1024,
    minimum: 1024,
    maximum: 1024 * 1024 * 1024,
    description: 'Maximum size of a request, with its images, in bytes.',
  }),
  heartbeatSeconds: Type.Number({
    default: 15,
    minimum: 0.01,
    maximum: 3600,
    description: 'Interval of heartbeats in a streamed answer, in seconds.',
  }),
})
