import { h, type VNode } from 'preact'
import { html } from './html.ts'
import { iconShapes } from './icon-shapes.ts'

/** The name of an icon, as Lucide names it. */
export type IconName = keyof typeof iconShapes

/** An icon in the color of the text, as high as the line. It has no name for programs that read the screen aloud: a word stands beside it. */
export function icon(name: IconName): VNode {
  const shapes = iconShapes[name].map(([tag, attributes]) => h(tag, attributes))
  return html`<svg
    class="icon"
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    stroke-width="1.75"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >${shapes}</svg>`
}

/** Returns the icon of a page of a plugin. A name that the node does not know has the icon of a plugin. */
export function iconNamed(name: string | null): VNode {
  return icon(name !== null && Object.hasOwn(iconShapes, name) ? (name as IconName) : 'puzzle')
}
