/** Whether the device is likely to have a camera that a page can ask for: a phone or a tablet. */
export function hasCamera(): boolean {
  return matchMedia('(pointer: coarse)').matches
}

/** Names a photo that was just taken by its time, such as `2026-11-29 09.12.33.jpg`: phones call each of them `image.jpg`. */
export function takenPhoto(file: File): File {
  const now = new Date()
  const parts = (numbers: readonly number[], between: string) =>
    numbers.map((number) => String(number).padStart(2, '0')).join(between)
  const day = parts([now.getFullYear(), now.getMonth() + 1, now.getDate()], '-')
  const time = parts([now.getHours(), now.getMinutes(), now.getSeconds()], '.')
  const ending = /\.\w+$/.exec(file.name)?.[0] ?? '.jpg'
  return new File([file], `${day} ${time}${ending}`, { type: file.type, lastModified: file.lastModified })
}
