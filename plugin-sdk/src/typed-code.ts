import { randomInt } from 'node:crypto'

/** The digits of Crockford's Base32: no letter looks like another digit. */
const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** Makes a code that people read on one device and type at another: 60 random bits as `7GQ4-2MXK-91RT`. */
export function newTypedCode(): string {
  const code = Array.from({ length: 12 }, () => digits.charAt(randomInt(digits.length))).join('')
  return code.replace(/(....)(....)/, '$1-$2-')
}

/**
 * Returns the digits of a code as people type it: in any case, with or without dashes and spaces, and with O, I and L for 0 and 1. Compare
 * codes in this form.
 *
 * @param text at most its first 100 characters count
 */
export function readTypedCode(text: string): string {
  const typed = text.slice(0, 100).toUpperCase().replaceAll(/[\s-]/g, '')
  return typed.replaceAll('O', '0').replaceAll(/[IL]/g, '1')
}
