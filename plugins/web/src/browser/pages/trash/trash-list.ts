import type { VNode } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import { headingId } from '../../action.ts'
import { html } from '../../html.ts'
import { narrow, useMedia } from '../../media.ts'
import type { MenuPlace } from '../../menu.ts'
import * as texts from '../../texts.ts'
import { useListKeys } from '../files/list-keys.ts'
import { type PressedEntry, useLongPress } from '../files/long-press.ts'
import { nameOf } from '../files/paths.ts'
import { rowSizes, useVisibleRows } from '../files/visible-rows.ts'
import type { Trash, TrashItem } from './trash.ts'
import type { TrashActions } from './trash-actions.ts'
import { TrashRow } from './trash-row.ts'

interface TrashListProps {
  readonly trash: Trash
  readonly actions: TrashActions
}

/** The deleted files and folders, with the selection, the menu and the keys of the list of files. */
export function TrashList({ trash, actions }: TrashListProps): VNode {
  const { selection } = trash
  const items = trash.items.value ?? []
  const isNarrow = useMedia(narrow)
  const size = isNarrow ? rowSizes.narrowList : rowSizes.list
  const { first, count, measure, show, page } = useVisibleRows(actions.rows, size)
  // With the last item, the list goes, too. The heading takes its focus.
  useLayoutEffect(() => {
    const rows = actions.rows.current
    return () => {
      if (rows !== null && document.activeElement === rows) document.getElementById(headingId)?.focus()
    }
  }, [])
  const nameIn = ({ path }: TrashItem) => nameOf(path)
  const selectByKey = useListKeys({ entries: items, selection, nameOf: nameIn, inRow: 1, page })

  const at = (target: EventTarget | null): PressedEntry<TrashItem> | null => {
    const element = (target as Element).closest<HTMLElement>('[data-index]')
    const index = Number(element?.dataset.index)
    const entry = items[index]
    return element === null || entry === undefined ? null : { element, entry, index }
  }
  const openMenu = ({ element, entry, index }: PressedEntry<TrashItem>, place?: MenuPlace) => {
    if (!selection.has(entry)) selection.only(index)
    actions.menuAt.value = place ?? element
  }
  const press = useLongPress(at, openMenu)

  const pressKey = (event: KeyboardEvent): boolean => {
    const { key, shiftKey, altKey } = event
    const command = event.ctrlKey || event.metaKey
    const item = items[selection.active.value]
    if (altKey) return false
    if (key === 'z' && command && !shiftKey) actions.undo()
    else if (item === undefined) return false
    else if (key === 'ContextMenu' || (key === 'F10' && shiftKey)) openActiveMenu()
    else if (key === 'Enter') actions.showDetails(item)
    else if (key === 'Delete' || (key === 'Backspace' && command)) {
      const [chosen = item, ...others] = selection.entries.value
      void actions.delete([chosen, ...others])
    } else return selectByKey(event)
    return true
  }
  const keyDown = (event: KeyboardEvent) => {
    if (!pressKey(event)) return
    event.preventDefault()
    show(selection.active.value)
  }
  const openActiveMenu = () => {
    const index = selection.active.value
    const entry = items[index]
    show(index)
    const element = actions.rows.current?.querySelector<HTMLElement>(`#entry-${index} .words`)
    if (entry && element) openMenu({ element, entry, index })
  }
  const click = (event: MouseEvent) => {
    const pressed = at(event.target)
    if (pressed === null || press.wasLong()) return
    const target = event.target as Element
    // The click on the box in it follows.
    if (target.matches('label')) return
    const more = target.closest<HTMLElement>('.more button')
    const { index } = pressed
    if (more !== null) return openMenu({ ...pressed, element: more })
    // Nothing in the trash opens, so a finger selects.
    const isToggled = event.ctrlKey || event.metaKey || press.isTouch() || target.closest('.box') !== null
    if (event.shiftKey) selection.upTo(index)
    else if (isToggled) selection.toggle(index)
    else selection.only(index)
    actions.rows.current?.focus({ preventScroll: true })
  }
  const doubleClick = ({ target }: MouseEvent) => {
    const pressed = at(target)
    const isControl = (target as Element).closest('.box, .more') !== null
    if (pressed !== null && !isControl && !press.isTouch()) actions.showDetails(pressed.entry)
  }
  const contextMenu = (event: MouseEvent) => {
    const pressed = at(event.target)
    if (pressed === null) return
    event.preventDefault()
    if (press.isTouch() && press.wasLong()) return
    if (press.isTouch()) press.isTold()
    openMenu(pressed, { x: event.clientX, y: event.clientY })
  }
  const shown = Array.from({ length: Math.min(count, items.length - first) }, (_, i) => first + i)
  return html`<div
    class="rows as-list"
    role="grid"
    aria-label=${texts.trash.list}
    aria-multiselectable="true"
    aria-rowcount=${items.length + 1}
    aria-activedescendant=${items.length > 0 ? `entry-${selection.active.value}` : undefined}
    ref=${actions.rows}
    tabindex="0"
    onScroll=${measure}
    onKeyDown=${keyDown}
    onClick=${click}
    onDblClick=${doubleClick}
    onContextMenu=${contextMenu}
    ...${press.listeners}
  >
    <${Headings} trash=${trash} />
    <div role="rowgroup" class="body" style=${{ height: `${items.length * size.height}px` }}>
      ${shown.map((index) => html`<${TrashRow} key=${items[index]?.id} trash=${trash} item=${items[index]} index=${index} top=${index * size.height} />`)}
    </div>
  </div>`
}

/** The names of the columns. */
function Headings({ trash: { items, selection } }: Pick<TrashListProps, 'trash'>): VNode {
  const count = items.value?.length ?? 0
  const isAll = count > 0 && selection.entries.value.length === count
  const { columns } = texts.trash
  const heading = (of: keyof typeof columns) =>
    html`<span role="columnheader" class=${of}>${columns[of]}</span>`
  return html`<div role="rowgroup" class="head">
    <div class="row" role="row" aria-rowindex="1">
      <span role="columnheader">
        <label class="box">
          <input
            type="checkbox"
            tabindex="-1"
            aria-label=${texts.files.selectAll}
            disabled=${count === 0}
            checked=${isAll}
            onClick=${() => (isAll ? selection.none() : selection.all())}
          />
        </label>
      </span>
      ${heading('name')}${heading('kind')}${heading('size')}${heading('changed')}
      <span role="columnheader" class="more"><span class="unseen">${texts.files.actions}</span></span>
    </div>
  </div>`
}
