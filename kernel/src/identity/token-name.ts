/** What the name of an API token has to be, for a person. */
export const tokenNameRule =
  'A name has 1 to 100 characters, and no control characters or ones that change the direction of writing.'

const form = /^[^\p{Cc}\p{Bidi_Control}\u2028\u2029]{1,100}$/u

/** Whether a text may be the name of an API token. Others read it in a terminal, which must not obey it. */
export function isTokenName(text: string): boolean {
  return form.test(text)
}
