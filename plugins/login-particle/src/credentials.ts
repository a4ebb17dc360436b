import { type LoginCredentials, NodekeepError } from '@nodekeep/plugin-sdk'

const forms = {
  uuid: {
    pattern: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
    meaning: "the user's UUID at Particle Network",
  },
  address: { pattern: /^0x[0-9a-f]{40}$/i, meaning: 'a wallet address: "0x" and 40 hexadecimal digits' },
  token: {
    pattern: /^[\x21-\x7e]{1,4096}$/,
    meaning: "the user's token of Particle Network: 1 to 4096 visible ASCII characters",
  },
} as const

/**
 * Checks the form of what a client sent, so that nothing else is passed on. Particle Network gives users UUIDs and
 * doesn't document the form of tokens, which therefore may be any short text without spaces.
 *
 * @throws NodekeepError VALIDATION_ERROR that names the first field that cannot be right
 */
export function checkCredentials(credentials: LoginCredentials): void {
  for (const [field, { pattern, meaning }] of Object.entries(forms)) {
    const value: unknown = credentials[field as keyof typeof forms]
    if (typeof value !== 'string' || !pattern.test(value)) {
      throw new NodekeepError('VALIDATION_ERROR', `"${field}" must be ${meaning}.`)
    }
  }
}
