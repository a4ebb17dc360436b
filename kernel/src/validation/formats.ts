import { isIP } from 'node:net'
import { parseWallet } from '@nodekeep/plugin-sdk'

/** A string format that configuration schemas and route schemas may name. */
interface Format {
  /** Completes the sentence "The value must be …", without a full stop. */
  readonly meaning: string
  validate(text: string): boolean
}

/** The formats that Nodekeep adds to those of JSON Schema, and `hostname`, which here accepts IP addresses too. */
export const formats: Readonly<Record<string, Format>> = {
  'http-origin': {
    meaning: 'an http or https address without path, such as "https://node.example.org"',
    validate: (text) => {
      const url = URL.parse(text)
      return url !== null && /^https?:$/.test(url.protocol) && isOrigin(url, text)
    },
  },
  hostname: {
    meaning: 'a host name or IP address without a port, such as "nas.local"',
    validate: (text) =>
      isIP(text) !== 0 ||
      /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i.test(text),
  },
  network: {
    meaning: 'an IP address or a network such as "10.0.0.0/8"',
    validate: (text) => {
      const [address = '', bits, ...rest] = text.split('/')
      const version = isIP(address)
      if (version === 0 || rest.length > 0) return false
      return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
    },
  },
  // An HTTP header can carry these characters. Readers trim the whitespace around a key.
  'api-key': {
    meaning: 'a key without spaces, line breaks or non-ASCII letters such as "ä" inside. Copy it again',
    validate: (text) => /^[\x21-\x7e]*$/.test(text.trim()),
  },
  'wallet-address': {
    meaning:
      'a wallet address: "0x" and 40 hexadecimal digits, in one case or in the mixed case of its checksum (EIP-55). Copy it again',
    validate: (text) => parseWallet(text) !== null,
  },
}

function isOrigin(url: URL, text: string): boolean {
  return url.username === '' && url.password === '' && url.pathname === '/' && !/[?#\s]/.test(text)
}
