import type { VNode } from 'preact'
import { html } from '../../html.ts'
import { Menu, type MenuItem } from '../../menu.ts'
import * as texts from '../../texts.ts'
import type { Trash } from './trash.ts'
import type { TrashActions } from './trash-actions.ts'

interface ItemMenuProps {
  readonly trash: Trash
  readonly actions: TrashActions
}

/** Shows what can be done with the selected items, while the menu is open. */
export function ItemMenu({ trash, actions }: ItemMenuProps): VNode | null {
  const at = actions.menuAt.value
  const [first, ...others] = trash.selection.entries.value
  if (at === null || first === undefined) return null
  const selected = [first, ...others] as const
  const items: (MenuItem | null)[] = [
    { label: texts.trash.restore, icon: 'history', run: () => actions.restore(selected) },
    { label: texts.trash.restoreTo, icon: 'folder-input', run: () => void actions.restoreTo(selected) },
    ...(others.length === 0
      ? [
          {
            label: texts.details.title,
            icon: 'info',
            keys: 'Enter',
            run: () => actions.showDetails(first),
          } as const,
        ]
      : []),
    null,
    {
      label: texts.files.deleteForGood,
      icon: 'trash-2',
      keys: 'Del',
      isDanger: true,
      run: () => void actions.delete(selected),
    },
  ]
  const close = () => {
    actions.menuAt.value = null
  }
  return html`<${Menu} key=${at} label=${texts.files.selection} items=${items} at=${at} onClose=${close} />`
}
