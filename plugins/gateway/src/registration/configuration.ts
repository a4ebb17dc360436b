import { Type } from '@nodekeep/plugin-sdk'

/** The key `registration` of the section `gateway`. */
export const registrationConfiguration = Type.Object(
  {
    enabled: Type.Boolean({
      default: true,
      description: 'Whether nodes may register names. It needs a domain. Without it, only `names` counts.',
    }),
    namesPerNode: Type.Integer({
      default: 3,
      minimum: 1,
      maximum: 1000,
      description: 'Maximum number of names of one node.',
    }),
    requestsPerMinute: Type.Integer({
      default: 10,
      minimum: 1,
      maximum: 10_000,
      description:
        'Maximum number of registrations and releases per minute, of one address and of one node alike.',
    }),
    reserved: Type.Array(Type.String({ pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' }), {
      default: [],
      description: 'Names that no node can register, besides those that are always reserved, such as `www`.',
    }),
  },
  { default: {}, description: 'How nodes get names.' },
)
