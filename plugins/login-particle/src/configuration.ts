import { ByteSize, Secret, Type } from '@nodekeep/plugin-sdk'

/** The plugin's section of the configuration. */
export const configuration = Type.Object({
  projectId: Type.String({
    minLength: 1,
    maxLength: 128,
    // It is the user of HTTP Basic authentication, which ends at the first colon (RFC 7617, section 2).
    pattern: '^[^:]+$',
    description: "The project's id, from Particle Network's dashboard.",
  }),
  serverKey: Secret({
    minLength: 1,
    maxLength: 256,
    description: "The project's server key, from Particle Network's dashboard.",
  }),
  baseURL: Type.String({
    default: 'https://api.particle.network/server/rpc',
    maxLength: 2048,
    description: "Where Particle Network's server API answers. https, or http on this machine.",
  }),
  timeoutMs: Type.Integer({
    default: 10000,
    minimum: 1,
    maximum: 60000,
    description: 'Time limit for an answer of Particle Network, in milliseconds.',
  }),
  maxResponseBytes: ByteSize({
    default: 65536,
    minimum: 1024,
    maximum: 1048576,
    description: 'Maximum size of an answer of Particle Network, in bytes.',
  }),
})
