import { Checked, Secret, Type } from '@nodekeep/plugin-sdk'
import { secretPattern } from './signature.ts'

/** The section `attention-webhook` of the configuration. */
export const configuration = Type.Object({
  url: Type.Optional(
    Checked(
      addressProblem,
      // The address of some receivers is all that is needed to write to them.
      { ...Secret({ description: 'The address that gets the messages. Without it, nothing is sent.' }) },
    ),
  ),
  secret: Type.Optional(
    Secret({
      pattern: secretPattern,
      description:
        'The secret that signs the messages: `whsec_` and 24 to 64 random bytes in base64, such as that of `nodekeep attention-webhook secret`. It is required with `url`.',
    }),
  ),
  checkSeconds: Type.Integer({
    default: 60,
    minimum: 1,
    maximum: 86_400,
    description:
      'Time between two looks at what needs the owner, in seconds. A change counts once two looks in a row have seen it.',
  }),
})

function addressProblem(text: string): string | null {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    return 'is not the address of a receiver. Write one such as "https://example.org/hooks/node".'
  if (url.username !== '' || url.password !== '')
    return 'must not have a user name or a password. The receiver knows the node by the signature.'
  return null
}
