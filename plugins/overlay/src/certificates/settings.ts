import { FilePath, type Static, Type } from '@nodekeep/plugin-sdk'

/** The configuration of a certificate in files. */
export const fileSettings = Type.Object({
  cert: FilePath({ description: 'The certificate and the chain of its issuers, as PEM.' }),
  key: FilePath({ description: 'The private key, as PEM without a password.' }),
})

/** The configuration of certificates by ACME (RFC 8555). */
export const acmeSettings = Type.Object({
  termsAccepted: Type.Literal(true, {
    description: 'That you accept the terms of service of the certificate authority.',
  }),
  directory: Type.String({
    pattern: '^https://',
    maxLength: 500,
    default: 'https://acme-v02.api.letsencrypt.org/directory',
    description: "The address of the authority's directory.",
  }),
  ca: Type.Optional(
    FilePath({
      description:
        "A PEM file with the root certificates that the authority's own address is checked with, for a private authority.",
    }),
  ),
  email: Type.Optional(
    Type.String({
      pattern: '^[^@\\s]+@[^@\\s]+$',
      maxLength: 254,
      description: 'The address for messages of the authority.',
    }),
  ),
  renewBeforeDays: Type.Integer({
    minimum: 1,
    maximum: 365,
    default: 30,
    description:
      'Days before its end when a certificate is renewed. One that is valid for less than three times as long is renewed after two ' +
      'thirds of its time.',
  }),
})

export type FileSettings = Static<typeof fileSettings>
export type AcmeSettings = Static<typeof acmeSettings>
