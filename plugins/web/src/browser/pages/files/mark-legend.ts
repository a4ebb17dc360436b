import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import type { Folder } from './folder.ts'
import { type EntryMarks, markKinds } from './marked-entries.ts'
import { folderOf } from './paths.ts'

interface MarkLegendProps {
  readonly folder: Folder
  readonly marks: EntryMarks
}

/** Says what the marks mean that entries of the folder have. A finger finds no title. */
export function MarkLegend({ folder, marks }: MarkLegendProps): VNode | null {
  const shown = markKinds.filter(({ of }) =>
    [...marks[of].paths.value].some((path) => folderOf(path) === folder.path.value),
  )
  if (shown.length === 0) return null
  return html`<span class="legend" aria-hidden="true">
    ${shown.map(({ of, short, icon: name }) => html`<span key=${of}>${icon(name)}${short}</span>`)}
  </span>`
}
