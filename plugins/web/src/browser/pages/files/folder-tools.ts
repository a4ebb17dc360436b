import type { VNode } from 'preact'
import { useRef } from 'preact/hooks'
import { html } from '../../html.ts'
import { icon } from '../../icon.ts'
import { MenuButton, type MenuItem } from '../../menu.ts'
import * as texts from '../../texts.ts'
import { chosenFiles } from './dropped-files.ts'
import { columns, type Order } from './entry-order.ts'
import type { EntryParts } from './entry-parts.ts'
import { newItems } from './menu-items.ts'
import type { StoredCheck } from './stored-check.ts'
import { takenPhoto } from './taken-photo.ts'
import type { ViewSettings } from './view-settings.ts'

interface FolderToolsProps {
  readonly parts: EntryParts
  readonly check: StoredCheck
}

/** The actions in the folder that is shown, and the ways to show it. */
export function FolderTools({ parts, check }: FolderToolsProps): VNode {
  const { actions, marks, settings } = parts
  const car = useRef<HTMLInputElement>(null)
  const choose = ({ currentTarget }: Event) => {
    const field = currentTarget as HTMLInputElement
    actions.upload(chosenFiles(field.files ?? []))
    field.value = ''
  }
  const chooseCar = ({ currentTarget }: Event) => {
    const field = currentTarget as HTMLInputElement
    const [file] = field.files ?? []
    if (file !== undefined) actions.importCar(file)
    field.value = ''
  }
  const takePhoto = ({ currentTarget }: Event) => {
    const field = currentTarget as HTMLInputElement
    actions.upload(chosenFiles(Array.from(field.files ?? [], takenPhoto)))
    field.value = ''
  }
  const { files, folder, photo } = actions.choosers
  const canPublish = marks.published.isOffered.value
  const items: readonly (MenuItem | null)[] = [
    ...newItems(actions),
    ...(canPublish
      ? [{ label: texts.files.importCar, icon: 'package', run: () => car.current?.click() } as const]
      : []),
    null,
    { label: texts.check.title, icon: 'clipboard-check', run: () => check.open() },
  ]
  const { value: layout } = settings.layout
  const { value: showsDetails } = settings.showsDetails
  return html`<div class="toolbar">
    <input type="file" multiple hidden ref=${files} onChange=${choose} aria-label=${texts.files.upload} />
    <${MenuButton} label=${texts.files.new} class="new" items=${items}>${icon('plus')}<span>${texts.files.new}</span><//>
    <button type="button" class="main upload" onClick=${() => actions.choose('files')}>${icon('upload')}<span>${texts.files.upload}</span></button>
    <${OrderMenu} settings=${settings} />
    <button
      type="button"
      class="icon-only quiet"
      aria-label=${layout === 'grid' ? texts.files.asList : texts.files.asGrid}
      title=${layout === 'grid' ? texts.files.asList : texts.files.asGrid}
      onClick=${() => {
        settings.layout.value = layout === 'grid' ? 'list' : 'grid'
      }}
    >${icon(layout === 'grid' ? 'list' : 'layout-grid')}</button>
    <button
      type="button"
      class="icon-only quiet"
      aria-label=${texts.details.title}
      title=${texts.details.title}
      aria-pressed=${showsDetails}
      onClick=${() => {
        settings.showsDetails.value = !showsDetails
      }}
    >${icon('info')}</button>
    <input type="file" accept="image/*" capture="environment" hidden ref=${photo} onChange=${takePhoto} aria-label=${texts.files.takePhoto} />
    <input type="file" webkitdirectory hidden ref=${folder} onChange=${choose} aria-label=${texts.files.uploadFolder} />
    ${
      canPublish &&
      html`<input type="file" accept=".car" hidden ref=${car} onChange=${chooseCar} aria-label=${texts.files.importCar} />`
    }
  </div>`
}

/** Chooses the order of the entries, where there are no headings. */
function OrderMenu({ settings }: { readonly settings: ViewSettings }): VNode {
  const { by, isDescending } = settings.order.value
  const items = columns.flatMap((column) =>
    [false, true].map((isDown): MenuItem => {
      const order: Order = { by: column, isDescending: isDown }
      return {
        label: texts.files.orders[column][isDown ? 'descending' : 'ascending'],
        isChosen: by === column && isDescending === isDown,
        run: () => {
          settings.order.value = order
        },
      }
    }),
  )
  const label = texts.files.sort
  return html`<${MenuButton} label=${label} title=${label} class="icon-only quiet sort" items=${items}>${icon('arrow-down-up')}<//>`
}
