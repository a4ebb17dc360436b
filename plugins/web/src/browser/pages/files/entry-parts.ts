import type { ReadonlySignal, Signal } from '@preact/signals'
import type { EntryActions } from './entry-actions.ts'
import type { Dragged } from './entry-drag.ts'
import type { Folder } from './folder.ts'
import type { EntryMarks } from './marked-entries.ts'
import type { Previews } from './previews.ts'
import type { ScrollSpeed } from './scroll-speed.ts'
import type { ViewSettings } from './view-settings.ts'

/** How much is in a folder. */
export interface FolderSize {
  readonly bytes: number
  /** Files and folders below it. */
  readonly entries: number
}

/** The parts of the page that an entry is shown with. It stays the same object, so that an entry is drawn again only if it changes. */
export interface EntryParts {
  readonly folder: Folder
  readonly actions: EntryActions
  readonly marks: EntryMarks
  readonly previews: Previews
  readonly settings: ViewSettings
  /** The folders whose size is known, by their paths. */
  readonly folderSizes: Signal<ReadonlyMap<string, FolderSize>>
  /** Something that is dragged over the page. */
  readonly dragged: ReadonlySignal<Dragged | null>
  readonly speed: ScrollSpeed
}
