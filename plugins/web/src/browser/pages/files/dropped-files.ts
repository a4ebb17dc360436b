/** A file that was dropped or chosen, or a folder with nothing in it. */
export interface DroppedFile {
  /** The path below the folder where it was dropped, such as `trip/cat.jpg`. */
  readonly path: string
  /** `null` for an empty folder. */
  readonly file: File | null
}

/** Finds all files of a drop, also those in folders. Call it while the event is handled: later, the drop is empty. */
export async function droppedFiles({ items }: DataTransfer): Promise<DroppedFile[]> {
  const roots = [...items].flatMap((item) => item.webkitGetAsEntry() ?? [])
  return (await Promise.all(roots.map((root) => filesBelow(root, root.name)))).flat()
}

/** The files of a form field; a field for folders tells the paths within the chosen one. */
export function chosenFiles(files: Iterable<File>): DroppedFile[] {
  return Array.from(files, (file) => ({ path: file.webkitRelativePath || file.name, file }))
}

async function filesBelow(entry: FileSystemEntry, path: string): Promise<DroppedFile[]> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) =>
      (entry as FileSystemFileEntry).file(resolve, reject),
    )
    return [{ path, file }]
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  const found: DroppedFile[] = []
  let isEmpty = true
  // A browser gives at most 100 entries at a time, and an empty list at the end.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    )
    if (some.length === 0) return isEmpty ? [{ path, file: null }] : found
    isEmpty = false
    for (const child of some) found.push(...(await filesBelow(child, `${path}/${child.name}`)))
  }
}
