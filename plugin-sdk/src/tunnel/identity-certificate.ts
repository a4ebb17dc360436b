import { createPublicKey, type KeyObject, sign } from 'node:crypto'
import {
  Boolean as AsnBoolean,
  BitString,
  Constructed,
  fromBER,
  GeneralizedTime,
  Integer,
  ObjectIdentifier,
  OctetString,
  Sequence,
  Set as SetOf,
  UTCTime,
  Utf8String,
} from 'asn1js'

/**
 * Makes a self-signed certificate (RFC 5280, section 4.1) of an Ed25519 key, as PEM. The same key and name make the same bytes.
 * It is valid from 1970 until the end of 9999, the date of RFC 5280 for "does not expire", so a wrong clock does no harm.
 *
 * @param name the common name of subject and issuer, at most 64 characters
 */
export function identityCertificate(key: KeyObject, name: string): string {
  const toBeSigned = new Sequence({
    value: [
      new Constructed({ idBlock: contextTag(0), value: [new Integer({ value: version3 })] }),
      new Integer({ value: 1 }),
      ed25519(),
      commonName(name),
      new Sequence({
        value: [
          new UTCTime({ valueDate: new Date(0) }),
          new GeneralizedTime({ valueDate: new Date('9999-12-31T23:59:59Z') }),
        ],
      }),
      commonName(name),
      fromBER(createPublicKey(key).export({ type: 'spki', format: 'der' })).result,
      new Constructed({ idBlock: contextTag(3), value: [new Sequence({ value: [forSignaturesOnly()] })] }),
    ],
  })
  const signature = sign(null, new Uint8Array(toBeSigned.toBER()), key)
  const certificate = new Sequence({ value: [toBeSigned, ed25519(), new BitString({ valueHex: signature })] })
  const lines =
    Buffer.from(certificate.toBER())
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

const version3 = 2

function contextTag(tagNumber: number) {
  return { tagClass: 3, tagNumber }
}

/** The algorithm of key and signature (RFC 8410, section 3). */
function ed25519(): Sequence {
  return new Sequence({ value: [new ObjectIdentifier({ value: '1.3.101.112' })] })
}

function commonName(name: string): Sequence {
  const attribute = [new ObjectIdentifier({ value: '2.5.4.3' }), new Utf8String({ value: name })]
  return new Sequence({ value: [new SetOf({ value: [new Sequence({ value: attribute })] })] })
}

/** The critical extension "key usage" (RFC 5280, section 4.2.1.3) with its first bit, digitalSignature. */
function forSignaturesOnly(): Sequence {
  const usage = new BitString({ valueHex: Uint8Array.of(0x80), unusedBits: 7 })
  return new Sequence({
    value: [
      new ObjectIdentifier({ value: '2.5.29.15' }),
      new AsnBoolean({ value: true }),
      new OctetString({ valueHex: usage.toBER() }),
    ],
  })
}
