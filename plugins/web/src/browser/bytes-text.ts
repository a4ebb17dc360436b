import { bytesText as textIn } from '@nodekeep/plugin-sdk/bytes-text'

/** Writes a number of bytes in units of 1000, such as `1.5 MB`, in the language of the browser. */
export function bytesText(bytes: number): string {
  return textIn(bytes, navigator.language)
}
