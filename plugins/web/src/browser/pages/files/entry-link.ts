import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { shownName } from '../../shown-name.ts'
import { texts } from '../../texts.ts'
import type { Entry } from './listing.ts'
import { contentAddress, folderAddress } from './paths.ts'
import type { PublishedEntries } from './published-entries.ts'

interface EntryLinkProps {
  readonly entry: Entry
  readonly path: string
  readonly published: PublishedEntries
}

/** The name of an entry, which opens it. The row or tile is what a person drags, not its link. */
export function EntryLink({ entry: { name, type }, path, published }: EntryLinkProps): VNode {
  const shown = shownName(name)
  const address = type === 'directory' ? folderAddress(path) : contentAddress(path)
  const isPublished = published.paths.value.has(path)
  return html`${isPublished && html`<span class="mark" role="img" aria-label=${texts.publishing.mark} title=${texts.publishing.mark}>${icon('link')}</span>`}<a href=${address} tabindex="-1" draggable=${false} title=${shown}><bdi>${shown}</bdi></a>`
}
