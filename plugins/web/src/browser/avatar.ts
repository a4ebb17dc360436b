import type { VNode } from 'preact'
import { html } from './html.ts'

/** The colors of `.avatar`, from 0. */
const colors = 6

/**
 * The first letter of a person's name, on a color that the name determines. The name stands beside it, so the letter is no text: a button
 * with it would have another name than what can be read on it.
 */
export function Avatar({ name }: { name: string }): VNode {
  const [letter = '?'] = name
  const sum = [...name].reduce((total, character) => total + (character.codePointAt(0) ?? 0), 0)
  return html`<span class="avatar" data-letter=${letter} data-color=${sum % colors} aria-hidden="true"></span>`
}
